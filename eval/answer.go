package eval

// Answered is what a model could answer.
type Answered struct{}
