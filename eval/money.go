package eval

import "context"

// Money is what an arm costs.
type Money struct{}

// Answered is what a model could answer.
type Answered struct{}

type sessionMoney struct{}

func (w *worker) money(ctx context.Context) ([]sessionMoney, error) { return nil, nil }

func sumMoney(o Options, results []*sessionResult) []Money { return []Money{} }

func (p *printer) money(list []Money) {}
