package fold

// needAhead is the digest that the next epoch will need when it comes at red: of turns
// old enough that those which come until then fit beside it. Nil if folding results will
// be enough.
func (s *Folding) NeedAhead(p *Policy, o PlanOptions) *Need {
	o.Trigger = TriggerRed
	d := newDraft(s, p, o.Limits, o.Limits.Target)
	if p.UntilGreen {
		d.goal = o.Limits.Red - 1
	}
	if p.Guaranteed {
		d.goal = max(d.goal, d.attainable(2*MaxPage))
	}
	d.model, d.recall, d.echo = o.Model, o.Recall, o.Echo
	page := d.pageTokens()
	ahead := max(o.Limits.Red-s.Parts.Total(), 0)
	goal := d.goal
	d.goal = 0 // as far as they go
	for _, l := range p.Levers {
		if l == LeverDigest {
			break
		}
		d.pull([]Lever{l}, o)
	}
	d.goal = goal
	// What comes until red will shrink as much as what there is.
	if total := s.Parts.Total(); d.total+ahead*d.total/max(total, 1) <= d.goal || d.barred(LeverDigest, o) {
		return nil
	}
	start := d.head()
	end := d.digestEnd(start, d.tail(p.Digest.Keep), page+d.restoreRoom()+ahead)
	if end <= start || d.fresh(s.narrativeFor(end, ""), end) {
		return nil
	}
	return &Need{Start: start, End: end, Room: d.narrativeRoom(page)}
}
