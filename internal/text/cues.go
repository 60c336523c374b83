package text

import "strings"

// cueWeights are the cues, by weight: words by which sentences that matter later are found,
// because they give a reason, decide, conclude, report an outcome or leave something open.
// A cue is one word or two, and its weight is what it adds to the worth of a sentence.
// Reasons and decisions count most, because only a sentence can carry them; the ledger
// also tells what was done. Announcements ("let me look at …") count against a sentence:
// they are worth nothing once they are past.
var cueWeights = map[float32]string{
	5: `because|root cause|the cause|caused by|due to|reason|rationale|turns out|the problem|the issue|the bug|the fix
		|decided|decision|chose|chosen|instead of|rather than|recommend|recommended|recommendation|i'd go|went with|trade-off
		|tradeoff|trade-offs|fatal flaw|on purpose|by design|deliberately|intentionally|intentional|so that|which means
		|this means|that means|therefore|that's why|is why|otherwise|the key|assumption`,
	3: `should|must|cannot|can't|won't|don't|never|only|prefer|preferred|rejected|selected|option|approach|confirmed
		|verified|actually|however|but|no longer|not yet|missing|fails|failed|failing|broken|wrong|incorrect|incorrectly
		|fixed|fixed by|works now|now works|safe|unsafe|breaking|limitation|caveat|risk|note that|important|warning
		|unless|expected|unexpected|needs|requires|required|remaining|todo|next steps|next step|open question|follow-up
		|blocked|pending|unresolved|of scope|severity|default|defaults|defaulting|matches|mismatch|means`,
	1.5: `added|removed|renamed|replaced|moved|changed|updated|created|deleted|restricted|bumped|committed|pushed|merged
		|pass|passes|passed|all pass|clean|done|found|uses|returns|returned|still|already|now|instead|since|so`,
	-4: `let me|now let|i'll|i will|i'm going|let's|i need|i'm checking|i'm reading|i'm looking|i'm running|i'm going
		|now i|now add|now update|now run|now create|now fix|now the|want me|would you|you like|shall i|response requested`,
}

// cueTable finds a cue by the hash of its word, or of its two words. cueFirst tells
// quickly that a word is no cue and begins none.
var cueTable, cueFirst = func() (table map[uint64]float32, first [1024]bool) {
	table = make(map[uint64]float32)
	for weight, list := range cueWeights {
		for cue := range strings.SplitSeq(list, "|") {
			one, two, pair := strings.Cut(strings.TrimSpace(cue), " ")
			h := wordHash(one)
			first[h&1023] = true
			if pair {
				h = pairHash(h, wordHash(two))
			}
			table[h] = weight
		}
	}
	return table, first
}()

func pairHash(a, b uint64) uint64 { return (a*hashPrime ^ b) * hashPrime }

// maxCues bounds what cues add up to: a sentence does not matter more for saying
// "because" three times.
const maxCues = 9

// CueScore is what a sentence's cues are worth. It appends the hashes of the sentence's
// longer words to words: what it is about, for telling that another says the same.
func CueScore(s string, words []uint64) (float32, []uint64) {
	score := float32(0)
	var pending uint64 // hash of the word before, if a pair may begin with it
	for i := 0; i < len(s); {
		if ByteClass[s[i]]&ByteWord == 0 {
			i += skipped(s[i])
			continue
		}
		from := i
		h := uint64(hashSeed)
		for i < len(s) {
			c := s[i]
			if c == punctuation && i+3 < len(s) && s[i:i+3] == "’" && IsLetterByte(s[i+3]) { // don’t
				c, i = '\'', i+len("’")-1
			}
			if ByteClass[c]&ByteWord == 0 && !((c == '\'' || c == '-') && i+1 < len(s) && IsLetterByte(s[i+1])) {
				break
			}
			if ByteClass[c] == ByteUpper {
				c |= 0x20
			}
			h = (h ^ uint64(c)) * hashPrime
			i++
		}
		if pending != 0 {
			score += cueTable[pairHash(pending, h)]
		}
		pending = 0
		if cueFirst[h&1023] {
			score += cueTable[h]
			pending = h
		}
		if i-from >= 5 {
			words = append(words, h)
		}
	}
	return min(score, maxCues), words
}
