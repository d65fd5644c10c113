package api

import "testing"

func TestStart(*testing.T) { Start("one") }
