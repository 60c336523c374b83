package model

// DefaultWindow is used where nobody says how large a window is.
const DefaultWindow = 200_000
