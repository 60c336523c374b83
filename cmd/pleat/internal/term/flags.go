package term

import (
	"fmt"
	"strconv"
	"strings"
)

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
	num, factor := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", "")), 1.0
	if thousands, ok := strings.CutSuffix(num, "k"); ok {
		num, factor = thousands, 1e3
	} else if millions, ok := strings.CutSuffix(num, "m"); ok {
		num, factor = millions, 1e6
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f*factor >= 1 && f*factor <= 1e12) {
		return fmt.Errorf("want a number of tokens such as 60000, 60_000, 60k or 0.2M")
	}
	*t = TokenCount(f*factor + 0.5)
	return nil
}
