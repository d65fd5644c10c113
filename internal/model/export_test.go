package model

// Left is what can still be reserved; false when there is no limit.
func (b *Budget) Left() (int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.limit.Amount - b.spent - b.reserved), b.limit.Amount > 0
}

// Spent is what calls have cost so far, the seed included.
func (b *Budget) Spent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.spent)
}
