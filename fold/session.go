package fold

// or fills the fields that b leaves open from c.
func (b Budget) Or(c Budget) Budget {
	if b.Window == 0 {
		b.Window = c.Window
	}
	pick := func(l *Level, d Level) {
		if l.IsZero() {
			*l = d
		}
	}
	pick(&b.Output, c.Output)
	pick(&b.Buffer, c.Buffer)
	pick(&b.Yellow, c.Yellow)
	pick(&b.Red, c.Red)
	pick(&b.Target, c.Target)
	return b
}
