package term

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// Typed is an annotation of flags that only the command line sets: neither the environment nor a file does.
const Typed = "typed"

// TokenCount is a flag for a number of tokens: 60000, 60_000, 60k, 0.2M.
type TokenCount int

func (t *TokenCount) String() string {
	switch n := int(*t); {
	case n == 0:
		return ""
	case n%1_000 == 0:
		return strconv.Itoa(n/1_000) + "k"
	default:
		return strconv.Itoa(n)
	}
}

func (t *TokenCount) Type() string { return "tokens" }

func (t *TokenCount) Set(s string) error {
	n, ok := text.Tokens(s)
	if !ok {
		return fmt.Errorf("want a number of tokens such as 60000, 60_000, 60k or 0.2M")
	}
	*t = TokenCount(n)
	return nil
}

// ByteCount is a flag for a size: 800M, 2G, 1.5GB.
type ByteCount int64

func (b *ByteCount) String() string {
	if *b == 0 {
		return ""
	}
	return ByteSize(int64(*b))
}

func (b *ByteCount) Type() string { return "bytes" }

// Set implements the flag.
func (b *ByteCount) Set(s string) error {
	num := strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(s, " ", "")), "b")
	factor := 1.0
	for i, unit := range []string{"k", "m", "g"} {
		if n, ok := strings.CutSuffix(num, unit); ok {
			num, factor = n, math.Pow(1000, float64(i+1))
		}
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f*factor >= 1 && f*factor <= 1e15) {
		return fmt.Errorf("want a size such as 800M or 2G")
	}
	*b = ByteCount(f * factor)
	return nil
}
