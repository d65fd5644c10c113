package redact

import (
	"slices"
	"strings"

	"divisi/subagents/gate"
)

// shape is the kept part of a JSON value; nil is left out.
type shape func(v *Redactor, x any) any

// fields are the shapes of an object's fields.
type fields map[string]shape

// object keeps the fields that are named in one text as they are, and those of more as their shapes have it.
func object(whole string, more fields) shape {
	of := fields{}
	for _, name := range strings.Fields(whole) {
		of[name] = kept
	}
	for name, s := range more {
		of[name] = s
	}
	return func(v *Redactor, x any) any {
		had, ok := x.(map[string]any)
		if !ok {
			return nil
		}
		out := map[string]any{}
		for name, s := range of {
			if value, has := had[name]; has {
				if value = s(v, value); value != nil {
					out[name] = value
				}
			}
		}
		return out
	}
}

// each gives one shape to the items of a list, or to the values of an object.
func each(s shape) shape {
	return func(v *Redactor, x any) any {
		switch had := x.(type) {
		case []any:
			out := make([]any, 0, len(had))
			for _, item := range had {
				if item = s(v, item); item != nil {
					out = append(out, item)
				}
			}
			return out
		case map[string]any:
			out := map[string]any{}
			for name, item := range had {
				if item = s(v, item); item != nil {
					out[name] = item
				}
			}
			return out
		}
		return nil
	}
}

// kept keeps a value as it is.
func kept(_ *Redactor, x any) any { return x }

// text gives a text another one in its place; an empty one stays empty.
func text(other func(v *Redactor, had string) string) shape {
	return func(v *Redactor, x any) any {
		had, ok := x.(string)
		if !ok {
			return nil
		}
		if had == "" {
			return had
		}
		return other(v, had)
	}
}

var (
	hidden = text(func(*Redactor, string) string { return Hidden })
	masked = text(func(v *Redactor, had string) string { return v.mask(had) })
	begun  = text(func(_ *Redactor, had string) string { return head(had) })
	// signature says as much about its gate as before.
	signature = text(func(v *Redactor, had string) string { return gate.Masked(had, v.mask(had)) })
)

// signatures are sorted and unique, as those of a receipt have to be.
func signatures(v *Redactor, x any) any {
	list, _ := each(signature)(v, x).([]any)
	var out []string
	for _, item := range list {
		if text, ok := item.(string); ok { // signature returns nothing else
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// keyed gives the names of an object's fields the shape of a text.
func keyed(s shape) shape {
	return func(v *Redactor, x any) any {
		had, ok := x.(map[string]any)
		if !ok {
			return nil
		}
		out := map[string]any{}
		for name, value := range had {
			if name, ok := s(v, name).(string); ok {
				out[name] = value
			}
		}
		return out
	}
}

// with changes what a shape keeps, by the value that it was made of.
func with(s shape, change func(v *Redactor, had, out map[string]any)) shape {
	return func(v *Redactor, x any) any {
		had, ok := x.(map[string]any)
		out, read := s(v, x).(map[string]any)
		if !ok || !read {
			return nil
		}
		change(v, had, out)
		return out
	}
}
