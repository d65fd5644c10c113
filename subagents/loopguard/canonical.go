package loopguard

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// digest identifies a value: equal for values that mean the same in JSON.
type digest [sha256.Size]byte

func digestOf(values ...any) digest {
	var body []byte
	for _, v := range values {
		body = appendValue(body, v)
	}
	return sha256.Sum256(body)
}

// appendValue appends a form of v that two values share only if they mean the same in JSON: keys sorted, numbers by value,
// strings by their bytes.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendText(b, v)
	case json.Number:
		return appendNumber(b, v.String())
	case float64:
		return appendNumber(b, strconv.FormatFloat(v, 'g', -1, 64))
	case int:
		return appendNumber(b, strconv.Itoa(v))
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(appendValue(b, e), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = append(appendValue(append(appendText(b, k), ':'), v[k]), ',')
		}
		return append(b, '}')
	default:
		return appendOther(b, v)
	}
}

func appendText(b []byte, s string) []byte {
	b = append(strconv.AppendInt(append(b, 's'), int64(len(s)), 10), ':')
	return append(b, s...)
}

// appendOther takes what is no plain JSON value by way of JSON; what JSON cannot hold as Go prints it, which sorts maps too.
func appendOther(b []byte, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return appendText(append(b, 'x'), fmt.Sprintf("%v", v))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return appendText(append(b, 'x'), string(body))
	}
	return appendValue(b, plain)
}

// appendNumber appends a decimal number as digits without zeros at either end and an exponent. It is exact at any size.
func appendNumber(b []byte, text string) []byte {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return appendText(append(b, '#'), text) // no number, or one beyond all use
		}
	}
	all := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(all, "0")
	power += len(all) - len(significant) - len(fraction)
	switch {
	case significant == "":
		return append(b, '#', '0')
	case negative:
		b = append(b, '#', '-')
	default:
		b = append(b, '#')
	}
	return strconv.AppendInt(append(append(b, significant...), 'e'), int64(power), 10)
}
