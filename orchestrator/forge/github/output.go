package github

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

// maxReports bounds the files of JUnit that are read of a run, maxArchives the artifacts that may hold some.
const (
	maxReports  = 50
	maxArchives = 5
)

var reportName = regexp.MustCompile(`(?i)junit|test|report|result`)

// Output implements forge.Checks. What cannot be had is left out: a log may be gone, a check need not have one.
func (c *Client) Output(ctx context.Context, check forge.Check, limit int) (out forge.Output, err error) {
	if check.Source == byPeer {
		return out, nil
	}
	notes, err := web.All[struct {
		Path  string `json:"path"`
		Line  int    `json:"start_line"`
		Level string `json:"annotation_level"`
		Text  string `json:"message"`
	}](ctx, c.web, c.path("/check-runs/%s/annotations?per_page=100", check.ID))
	if err != nil && !absent(err) {
		return out, fmt.Errorf("read the annotations of check %s: %w", check.Name, err)
	}
	for _, n := range notes {
		out.Annotations = append(out.Annotations, forge.Annotation{Path: n.Path, Line: n.Line, Level: n.Level, Text: n.Text})
	}
	m := runPath.FindStringSubmatch(check.Run)
	if m == nil || m[1] != "run" {
		return out, nil
	}
	if out.Log, err = c.web.Bytes(ctx, c.path("/actions/jobs/%s/logs", check.ID), limit); err != nil && !absent(err) {
		return out, fmt.Errorf("read the log of check %s: %w", check.Name, err)
	}
	if out.Reports, err = c.reports(ctx, m[2], limit); err != nil && !absent(err) {
		return out, fmt.Errorf("read the reports of check %s: %w", check.Name, err)
	}
	return out, nil
}

func absent(err error) bool {
	return errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrForbidden)
}

// reports reads the files of JUnit that a run has left.
func (c *Client) reports(ctx context.Context, run string, limit int) (reports [][]byte, err error) {
	list, err := web.Fold(ctx, c.web, c.path("/actions/runs/%s/artifacts?per_page=100", run), func(p struct {
		Artifacts []struct {
			ID      int64  `json:"id"`
			Name    string `json:"name"`
			Expired bool   `json:"expired"`
		} `json:"artifacts"`
	},
	) (ids []int64) {
		for _, a := range p.Artifacts {
			if !a.Expired && reportName.MatchString(a.Name) {
				ids = append(ids, a.ID)
			}
		}
		return ids
	})
	if err != nil {
		return nil, err
	}
	for _, id := range list[:min(len(list), maxArchives)] {
		data, err := c.web.Bytes(ctx, c.path("/actions/artifacts/%d/zip", id), limit)
		if err != nil {
			return reports, err
		}
		reports = append(reports, unzipped(data, limit)...)
	}
	return reports[:min(len(reports), maxReports)], nil
}

// unzipped are the XML files of an archive. One that is cut or broken has none.
func unzipped(data []byte, limit int) (files [][]byte) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	for _, f := range archive.File {
		if len(files) == maxReports || !strings.EqualFold(path.Ext(f.Name), ".xml") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, int64(limit)))
		if err == nil && r.Close() == nil {
			files = append(files, text)
		}
	}
	return files
}
