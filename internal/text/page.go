package text

import (
	"strings"
)

func JoinSections(sections ...string) string {
	var b strings.Builder
	for _, s := range sections {
		if s = strings.TrimRight(s, "\n"); s != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(s)
		}
	}
	return b.String()
}
