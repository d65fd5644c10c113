package sandbox

// lockCache does nothing: a cache that two make at once may be thrown away once too often.
func lockCache(string) (unlock func(), err error) { return func() {}, nil }
