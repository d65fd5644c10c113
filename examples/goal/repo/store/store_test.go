package store

import "testing"

func TestStart(*testing.T) { Start("one") }
