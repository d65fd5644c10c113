package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"divisi/internal/text"
)

// maxPages bounds a list: a hundred of a hundred.
const maxPages = 100

var nextPage = regexp.MustCompile(`<([^<>]+)>;\s*rel="next"`)

// All reads a list, and its further pages. It goes to no other host than that of the client.
func All[T any](ctx context.Context, c *Client, path string) (all []T, err error) {
	return Fold(ctx, c, path, func(page []T) []T { return page })
}

// Fold reads pages of the form P and collects what of returns of each.
func Fold[P, T any](ctx context.Context, c *Client, path string, of func(P) []T) (all []T, err error) {
	for range maxPages {
		var page P
		header, err := c.Get(ctx, path, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, of(page)...)
		next, err := c.next(header)
		if err != nil || next == "" {
			return all, err
		}
		path = next
	}
	return nil, fmt.Errorf("GET %s: the list has more than %d pages", text.Clip(path, text.MaxLine), maxPages)
}

// next is the path of the page that follows; "" for none.
func (c *Client) next(h http.Header) (string, error) {
	m := nextPage.FindStringSubmatch(strings.Join(h.Values("Link"), ", "))
	if m == nil {
		return "", nil
	}
	at, err := url.Parse(m[1])
	if err != nil {
		return "", fmt.Errorf("the next page: %w", err)
	}
	base := strings.TrimSuffix(c.Base.Path, "/")
	if at.Host != c.Base.Host || at.Scheme != c.Base.Scheme || !strings.HasPrefix(at.Path, base+"/") {
		return "", fmt.Errorf("the next page is not below %s", c.Base)
	}
	at.Scheme, at.Host = "", ""
	return strings.TrimPrefix(at.RequestURI(), base), nil
}
