package conv

// UnfoldCall is how a stub says to get its content back when the recall tools are there.
func UnfoldCall(handle string) string { return `unfold("` + handle + `")` }
