package spec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// MaxCount and MaxSpan are the upper ends of what another process may say in numbers and in durations: sums of them stay sums.
const (
	MaxCount = 1 << 50
	MaxSpan  = 60 * 24 * time.Hour
)

// Bounds returns which number in a value that another process has sent is out of its range, and the range; nil for none. Without
// tags minimum and maximum a number is from 0 to MaxCount, a duration from 0 to MaxSpan. Types of other modules are passed over.
func Bounds(v any) error {
	p := &problems{}
	p.bounds("", reflect.ValueOf(v), 0, 0)
	if len(p.list) == 0 {
		return nil
	}
	return errors.New(p.list[0].String())
}

func (p *problems) bounds(at string, v reflect.Value, least, most int64) {
	if !v.IsValid() {
		return
	}
	switch t, kind := v.Type(), v.Kind(); {
	case kind == reflect.Pointer:
		p.bounds(at, v.Elem(), least, most)
	case kind == reflect.Struct && (t.PkgPath() == "" || strings.HasPrefix(t.PkgPath(), "divisi/")):
		for f, field := range v.Fields() {
			if name := fieldName(f); f.IsExported() && name != "-" {
				least, most := limitsOf(f)
				p.bounds(strings.Trim(at+"."+name, "."), field, least, most)
			}
		}
	case (kind == reflect.Slice || kind == reflect.Array) && !plain(t.Elem()):
		for i := range v.Len() {
			p.bounds(fmt.Sprintf("%s[%d]", at, i), v.Index(i), least, most)
		}
	case kind == reflect.Map && !plain(t.Elem()):
		for key, value := range v.Seq2() {
			p.bounds(fmt.Sprintf("%s[%.80q]", at, key.String()), value, least, most)
		}
	case v.CanInt() || v.CanUint() || v.CanFloat():
		if n := clamped(v); n < least || n > most {
			p.addf(at, "", "%v is not from %d to %d", v, least, most)
		}
	}
}

// plain reports whether what lists have most of is no number: words, and bytes.
func plain(t reflect.Type) bool { return t.Kind() == reflect.String || t.Kind() == reflect.Uint8 }

// clamped is a number as a whole one, nothing far out of every range for what is none.
func clamped(v reflect.Value) int64 {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64))
	case v.Float() > -1<<62 && v.Float() < 1<<62:
		return int64(math.Floor(v.Float()))
	}
	return math.MinInt64
}

// limitsOf is the range of what a field holds.
func limitsOf(f reflect.StructField) (least, most int64) {
	most = MaxCount
	if t := f.Type; t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[Duration]() {
		most = int64(MaxSpan)
	}
	if n, ok := minimum(f); ok {
		least = int64(n)
	}
	if n, err := strconv.ParseInt(f.Tag.Get("maximum"), 10, 64); err == nil {
		most = n
	}
	return least, most
}

// Plus is the sum of two counts, at most MaxCount.
func Plus(a, b int) int { return min(max(a, 0)+max(min(b, MaxCount), 0), MaxCount) }
