package text

import (
	"fmt"
	"math"
	"strconv"
)

// Short writes a number in at most five characters: 950, 9.5k, 61k, 1.2M.
func Short(n int) string {
	f := float64(n)
	switch {
	case n < 1_000:
		return strconv.Itoa(n)
	case n < 9_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
	return fmt.Sprintf("%.0fM", f/1e6)
}

// ByteSize writes a size for people: 812 B, 4.1 kB, 12 MB.
func ByteSize(n int64) string {
	f, units := float64(n), []string{"B", "kB", "MB", "GB"}
	i := 0
	for ; f >= 999.5 && i < len(units)-1; i++ {
		f /= 1000
	}
	if i == 0 || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// Cents writes an amount with cents, or with what is left below a cent.
func Cents(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	n := int(math.Round(usd * 100))
	return fmt.Sprintf("$%s.%02d", Thousands(n/100), n%100)
}
