package transcript

// Place is what a handle stands for: a block, or messages Start ≤ i < End if Block is
// negative.
type Place struct{ Start, End, Block int }
