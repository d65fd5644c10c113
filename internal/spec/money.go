package spec

import "fmt"

// Money is an amount in pico-dollars. The price of a token is a whole number of them, so that sums are exact in every order.
type Money int64

// Dollar is one dollar.
const Dollar Money = 1e12

// MaxMoney is the most that is believed of a figure or a sum.
const MaxMoney = 1e6 * Dollar

// Plus is the sum of two amounts, at most MaxMoney.
func (m Money) Plus(o Money) Money { return min(m+min(o, MaxMoney), MaxMoney) }

// String is the amount in dollars and cents.
func (m Money) String() string {
	const cent = Dollar / 100
	if m > 0 && m < cent {
		return "<$0.01"
	}
	cents := (m + cent/2) / cent
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}
