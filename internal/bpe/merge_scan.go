package bpe

// scanLimit is the longest piece for which looking through all pairs beats
// keeping them in a heap.
const scanLimit = 64

// suitsScan reports whether mergeScan is the better way for the piece b[i:j].
// Beyond ASCII few pairs of bytes are tokens: a heap is then small, and a scan
// looks at nothing most of the time.
func suitsScan(b []byte, i, j int) bool {
	return j-i <= scanLimit && (j-i <= 16 || b[i+1] < 0x80)
}

// scanParts is a piece in the course of being merged: for each part the rank of
// its union with the next part, and where it starts. The end of the piece is
// there as one more part.
type scanParts [scanLimit + 1]scanPart

// A scanPart is rank<<8 | start, so that the least one is the leftmost of those
// with the lowest rank.
type scanPart uint64

const noMerge = scanPart(noRank) << 8

func newScanPart(rank uint32, start int) scanPart {
	return scanPart(rank)<<8 | scanPart(start)
}

func (p scanPart) start() int { return int(p & 0xFF) }

// mergeScan merges the piece b[i:j] of at most scanLimit bytes, and returns the
// number of tokens. Their borders are then in p.
func (v *vocabulary) mergeScan(p *scanParts, b []byte, i, j int) int {
	n := j - i
	best, least := 0, noMerge
	for k := range n - 1 {
		p[k] = newScanPart(v.pairs[pairIndex(b, i+k)], k)
		if p[k] < least {
			best, least = k, p[k]
		}
	}
	p[n-1], p[n] = newScanPart(noRank, n-1), newScanPart(noRank, n)

	for least < noMerge {
		// Join part best with the next one, and rank the two pairs this changes.
		start, end := p[best].start(), p[best+2].start()
		rank := noRank
		if best+2 < n {
			rank = v.rank(b, i+start, i+p[best+3].start())
		}
		p[best] = newScanPart(rank, start)
		if best > 0 {
			start = p[best-1].start()
			p[best-1] = newScanPart(v.rank(b, i+start, i+end), start)
		}

		// Close the gap and find the next pair in one go.
		n--
		joined := best
		least = noMerge
		for k := range joined + 1 {
			if p[k] < least {
				best, least = k, p[k]
			}
		}
		for k := joined + 1; k <= n; k++ {
			p[k] = p[k+1]
			if p[k] < least {
				best, least = k, p[k]
			}
		}
	}
	return n
}
