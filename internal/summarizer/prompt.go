package summarizer

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// The prompt. docs/digest.md has the reasons for its rules.

const digestSystem = "You write digests of conversations between a user and an AI agent that works with tools. " +
	"A digest stands for turns that the agent will no longer see; it goes on working from the digest and from the " +
	"newest turns alone. You do not go on with the work yourself, and you do not answer the user. " +
	"You answer with text only and call no tools."

//go:embed task.txt
var digestTask string

func (j *writer) digestText(w wanted) string {
	about := "The conversation above is about to be folded away."
	var rules strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&rules, "- "+format+"\n", args...) }
	if w.prev {
		about = "The turns above are about to be folded away. They go on from an earlier digest, " +
			"which is given before them and will be replaced by yours."
		if j.forked {
			about = "The conversation above is about to be folded away. Its first part was folded before: " +
				"the page that stands for it has an earlier digest, which will be replaced by yours."
		}
		line("The earlier digest is the base. A fact of it that still holds keeps its wording, word for word: " +
			"do not shorten it, do not reword it. Leave out only what the turns above withdrew, finished or " +
			"proved wrong; put what is new beside it.")
	}
	if w.parts > 1 {
		about += fmt.Sprintf(" This is part %d of %d; the rest comes later.", w.part+1, w.parts)
	}
	if w.rung == rungShorter {
		line("Be shorter than usual: only what the next steps cannot do without.")
	}
	if f := strings.TrimSpace(j.Source.Need.Focus); f != "" {
		line("Asked for beside the conversation, by the agent or the program that it runs in: this matters most, and "+
			"gets the most room: %s", fence.Line(f))
	}
	if r := strings.TrimSpace(j.Options.Rules); r != "" {
		line("The user's own rules for digests: %s", r)
	}
	if p := strings.TrimSpace(j.Ask.Prompt); p != "" {
		line("%s", p)
	}
	long, whole := j.longWords()
	if long != "" {
		line("There may be room only for the beginning and the end of these messages of the user: %s. Tell what "+
			"the rest of them asks for and says, with its names and numbers; of a list, each item.", long)
	}
	if whole != "" {
		line("These messages of the user stand before your digest, all of them: %s. Do not retell what they ask "+
			"for or plan, only what came of it.", whole)
	}
	if len(w.wrong) > 0 {
		line("Your last digest was not used. What was wrong with it:")
		for _, f := range w.wrong[:min(len(w.wrong), 12)] {
			fmt.Fprintf(&rules, "  - %s\n", fence.Line(text.Clip(f.String(), 200)))
		}
	}
	handles := "Behind facts of which more may have to be looked up put the handle in brackets of the result that " +
		"has it, [handle], at most eight of them."
	if j.forked { // which shows neither numbers nor handles
		if list := j.numbers(); list != "" {
			line("These are the numbers of the user's messages, each with its first words: %s. Name no others, and no calls.",
				list)
		}
		handles = "Name at most eight topics that may have to be looked up by searching what was folded, each with " +
			"the words to search for."
	}
	words, signs := j.size(w.room)
	limit := fmt.Sprintf("%s tokens (about %s words or %s characters)",
		text.Thousands(w.room), text.Thousands(words), text.Thousands(signs))
	think, first := digestThink, "<analysis>…</analysis>, then "
	if j.answerTokens(w.room) < w.room*3/2+1_000 { // an analysis would take the room of the digest
		think, first = "W", ""
	}
	return fmt.Sprintf(digestTask, about, rules.String(), think, limit, handles, first)
}

// size says how many words and characters a digest of so many tokens has. Tokens differ from model
// to model and from subject to subject, by half and more, but a digest has nearly as many characters
// a token as its conversation, and 7.9 a word.
func (j *writer) size(tokens int) (words, signs int) {
	sample := strings.Join(strings.Fields(digestTask+j.Source.sample()), " ") // digests have no indentation
	signs = tokens * utf8.RuneCountInString(sample) / max(j.Count(sample), 1) * 97 / 100
	return signs * 10 / 79, signs
}

// longWords lists the user's long messages: those of which the view may not have room for all, and
// those that it shows whole.
func (j *writer) longWords() (cut, whole string) {
	var lists [2][]string
	for _, s := range j.Source.Said {
		at := s.Message - j.Source.First
		if at < 0 || s.Message >= j.Source.Need.End || len(s.Text) <= j.Source.Need.Room*bytesToken/longPart {
			continue
		}
		list := &lists[0]
		if j.Source.Msgs[at].Whole {
			list = &lists[1]
		}
		*list = append(*list, strconv.Itoa(s.Message+1))
	}
	newest := func(list []string) string { return strings.Join(list[max(len(list)-maxLong, 0):], ", ") }
	return newest(lists[0]), newest(lists[1])
}

// numbers lists the numbers of the newest messages that people typed.
func (j *writer) numbers() string {
	var list []string
	for _, s := range j.Source.Said {
		if s.Message >= j.Source.First && s.Message < j.Source.Need.End {
			list = append(list, fmt.Sprintf("m%d %q", s.Message+1, text.Clip(strings.Join(strings.Fields(s.Text), " "), 30)))
		}
	}
	return strings.Join(list[max(len(list)-mostNumbers, 0):], ", ")
}

const (
	mostNumbers = 80

	bytesToken = 4
	longPart   = 8 // of a digest's room: a message of more than that is long
	maxLong    = 12
)

const digestThink = "First think inside <analysis> tags, briefly: walk through the conversation in order and note " +
	"decisions with reasons, errors with causes, exact values, and what is unfinished. It is thrown away. Then w"

type wanted struct {
	rung        rung
	room        int              // tokens
	prev        bool             // an earlier digest is merged
	part, parts int              // of the turns, if they do not fit one request
	wrong       []digest.Finding // with the digest before
}

type rung uint8

const (
	rungNormal rung = iota
	rungAgain
	rungShorter
)

func (r rung) String() string { return [...]string{"normal", "again", "shorter"}[r] }

// request asks for a digest of a group of turns, or of what the live request shows.
func (j *writer) request(w wanted, prev, turns string) *model.Request {
	req := &model.Request{
		Model: j.Options.Model.ID, MaxTokens: j.answerTokens(w.room), SessionKey: j.Key, Once: j.Ask.Retries > 0,
	}
	if j.Ask.ZeroTemp && !j.Options.Model.Refuses.Temperature {
		req.Temperature = new(float64)
	}
	switch {
	case j.Ask.Trust:
		return j.plainRequest(req, turns)
	case j.forked:
		req.System, req.Tools, req.NoTools = j.Source.System, j.Source.Tools, true
		req.Messages = append(slices.Clone(j.Source.View), transcript.User(j.digestText(w)))
		return req
	}
	req.System = digestSystem
	var b strings.Builder
	if prev != "" {
		b.WriteString(fence.Block("earlier_digest", prev) + "\n\n")
	}
	if len(j.Source.Notes) > 0 {
		var notes strings.Builder
		for _, n := range j.Source.Notes {
			notes.WriteString(fence.Line(n.Key) + ":" + fence.After("note", n.Text) + "\n")
		}
		b.WriteString(fence.Block("notes_of_the_agent", notes.String()) + "\n\n")
	}
	b.WriteString(fence.Block("turns", turns) + "\n\n" + j.digestText(w))
	req.Messages = []transcript.Message{transcript.User(b.String())}
	return req
}

// plainRequest is the request of policies that take a summary as it comes.
func (j *writer) plainRequest(req *model.Request, turns string) *model.Request {
	var system []string
	add := func(text, before string) {
		if text = strings.TrimSpace(text); text != "" {
			system = append(system, before+text)
		}
	}
	usual := ""
	if j.Ask.Opening == "" {
		usual = "You summarize a conversation for an agent that will go on with it. Answer with text and call no tools."
	}
	add(cmp.Or(j.Ask.Prompt, usual), "")
	add(fence.Line(j.Source.Need.Focus), "What matters most: ")
	add(j.Options.Rules, "The user's own rules for summaries: ")
	req.System = strings.Join(system, "\n")
	if n := j.Ask.Source; n > 0 {
		turns = text.ClipRunes(turns, n)
	}
	closing := j.Ask.Closing
	if j.Ask.Opening == "" {
		closing = cmp.Or(closing, "Write the summary of these turns now.")
	}
	parts := slices.DeleteFunc([]string{j.Ask.Opening, turns, closing}, func(s string) bool { return s == "" })
	req.Messages = []transcript.Message{transcript.User(strings.Join(parts, "\n\n"))}
	return req
}

// answerTokens is the room for an answer: the digest, the analysis before it, and thinking.
func (j *writer) answerTokens(room int) int {
	n := 2*room + 4_000
	if j.Ask.Trust {
		n = room
	}
	if m := j.Options.Model.MaxOutput; m > 0 {
		n = min(n, m)
	}
	if w := j.Options.Model.Window; w > 0 && !j.Ask.Trust {
		n = min(n, max(w/3, room)) // a small window must hold the turns as well
	}
	return n
}
