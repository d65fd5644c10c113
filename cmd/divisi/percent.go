package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// percent is the value of a flag: a share such as 5%, or 5.
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) + "%" }

func (p *percent) Type() string { return "percent" }

// Set implements pflag.Value.
func (p *percent) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 100 {
		return errors.New("it must be a share between 0% and 100%, such as 5%")
	}
	*p = percent(n)
	return nil
}
