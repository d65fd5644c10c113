package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// BudgetPattern is the form of a budget in files: tokens, or dollars.
const BudgetPattern = `^([0-9][0-9_]*|\$?[0-9]+(\.[0-9]{1,12})?|[0-9]+(\.[0-9]{1,12})?usd)$`

// Budget is a limit in one unit: tokens, or pico-dollars where it is Money. The zero value is none. In JSON a number is tokens, a
// text is dollars, such as "5usd".
type Budget struct {
	Amount int64 `json:"-" file:"-"`
	Money  bool  `json:"-" file:"-"`
}

// NoPrice is the words of every reason which says that a budget in money cannot bound a model.
const NoPrice = "has no price that is known"

// DayBudget is the words for the budget of a day, in every reason that is about it.
const DayBudget = "the budget of the day"

// Tokens is a budget in tokens.
func Tokens(n int) Budget { return Budget{Amount: int64(n)} }

// ParseBudget reads a budget as a person writes it.
func ParseBudget(text string) (b Budget, err error) {
	err = b.UnmarshalText([]byte(text))
	return b, err
}

// Of is the use that a budget counts: tokens, or money.
func (b Budget) Of(s Sum) int64 {
	if b.Money {
		return int64(s.Money)
	}
	return int64(s.Tokens)
}

// Used reports whether what was used reaches a percentage of the limit. Without a limit it never does.
func (b Budget) Used(s Sum, percent int64) bool {
	return b.Amount > 0 && b.Of(s) >= b.Amount/100*percent+b.Amount%100*percent/100
}

// Figure is an amount in the unit of the budget.
func (b Budget) Figure(amount int64) string {
	if b.Money {
		return Money(amount).String()
	}
	return strconv.FormatInt(amount, 10)
}

// Unit follows a figure: " tokens", and nothing behind money.
func (b Budget) Unit() string {
	if b.Money {
		return ""
	}
	return " tokens"
}

// String is the limit in words.
func (b Budget) String() string { return b.Figure(b.Amount) + b.Unit() }

// IsZero reports that there is no limit.
func (b Budget) IsZero() bool { return b.Amount == 0 }

// MarshalText writes the budget as a command line and a file have it.
func (b Budget) MarshalText() ([]byte, error) {
	if !b.Money {
		return []byte(b.Figure(b.Amount)), nil
	}
	whole, rest := b.Amount/int64(Dollar), b.Amount%int64(Dollar)
	text := strings.TrimRight(fmt.Sprintf("%d.%012d", whole, rest), "0")
	return []byte(strings.TrimSuffix(text, ".") + "usd"), nil
}

// Text is the budget as a command line has it.
func (b Budget) Text() string {
	text, _ := b.MarshalText() // it has no error
	return string(text)
}

var errBudget = errors.New("is no budget: write tokens, such as 2000000, or dollars, such as 5usd")

// UnmarshalText reads a budget as a person writes it.
func (b *Budget) UnmarshalText(text []byte) error {
	written := string(text)
	number, dollars := strings.CutPrefix(written, "$")
	amount, usd := strings.CutSuffix(strings.ToLower(number), "usd")
	switch {
	case strings.HasPrefix(written, "-") || strings.HasPrefix(number, "-"):
		return fmt.Errorf("%q cannot be negative", written)
	case dollars || usd:
		value, ok := new(big.Rat).SetString(amount)
		if !ok || strings.Trim(amount, "0123456789.") != "" {
			return fmt.Errorf("%q %w", written, errBudget)
		}
		if value.Sign() == 0 {
			return fmt.Errorf("%q is no limit: leave the budget out, or write 0 for none", written)
		}
		value.Mul(value, new(big.Rat).SetInt64(int64(Dollar)))
		if !value.IsInt() || value.Cmp(new(big.Rat).SetInt64(int64(MaxMoney))) > 0 {
			return fmt.Errorf("%s is out of range", written)
		}
		*b = Budget{Amount: value.Num().Int64(), Money: true}
		return nil
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(written, "_", ""), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > MaxCount:
		return fmt.Errorf("%s is out of range", written)
	case err != nil:
		return fmt.Errorf("%q %w", written, errBudget)
	}
	*b = Budget{Amount: n}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (b Budget) MarshalJSON() ([]byte, error) {
	if b.Money {
		return json.Marshal(b.Text())
	}
	return []byte(b.Text()), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Budget) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return b.UnmarshalText([]byte(strings.Trim(string(data), `"`)))
}

// Sum is a use of models: tokens, and the money that was booked for them.
type Sum struct {
	Tokens int
	Money  Money
}

// Less is what is left of a use without another.
func (s Sum) Less(o Sum) Sum { return Sum{max(0, s.Tokens-o.Tokens), max(0, s.Money-o.Money)} }

// Add is the sum of two uses.
func (s Sum) Add(o Sum) Sum { return Sum{Plus(s.Tokens, o.Tokens), s.Money.Plus(o.Money)} }
