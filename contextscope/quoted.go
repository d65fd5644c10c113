package contextscope

// Quote puts what somebody else wrote between QuoteBegin and QuoteEnd, and takes from it whatever could pass for one of them. Who
// shows it says first whose words they are, and that they are data.
func Quote(text string) string { return quote(text) }
