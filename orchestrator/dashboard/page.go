package dashboard

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

//go:embed web/index.html web/icon.svg dist/app.js dist/app.css
var assets embed.FS

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.asset("web/index.html", "text/html; charset=utf-8"))
	mux.HandleFunc("/app.js", s.asset("dist/app.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("/app.css", s.asset("dist/app.css", "text/css; charset=utf-8"))
	mux.HandleFunc("/icon.svg", s.asset("web/icon.svg", "image/svg+xml"))
	mux.HandleFunc("/about", s.about)
	mux.HandleFunc("/batch", s.batch)
	mux.HandleFunc("/events", s.events)
	return mux
}

func (s *Server) asset(name, mime string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := assets.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", mime)
		s.send(w, data)
	}
}

// about names the run that this server shows, so that a page that was left open from another run finds out.
func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	s.sendJSON(w, map[string]string{"run": s.opts.Run})
}

// batch answers with the events at one position, whole.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	pos, err := strconv.ParseUint(r.URL.Query().Get("pos"), 10, 64)
	if err != nil || pos == 0 {
		http.Error(w, "pos is a position in the log, from 1", http.StatusBadRequest)
		return
	}
	if pos > s.hub.last() {
		http.Error(w, "the log is not that long yet", http.StatusNotFound)
		return
	}
	for b, err := range s.opts.Log.Tail(r.Context(), pos-1) {
		switch {
		case err != nil:
			http.Error(w, fmt.Sprintf("read the log at %d: %v", pos, err), http.StatusInternalServerError)
		case b.Pos < pos:
			continue
		case b.Pos > pos:
			http.Error(w, "there is no batch at that position", http.StatusNotFound)
		default:
			s.sendJSON(w, placed(b))
		}
		return
	}
}

func (s *Server) sendJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the answer: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.send(w, data)
}

// send writes an answer within the time that a browser on this machine may take.
func (s *Server) send(w http.ResponseWriter, data []byte) {
	err := errors.Join(s.deadline(w), func() error { _, err := w.Write(data); return err }())
	if err != nil {
		s.opts.Logger.Debug().Err(err).Msg("an answer did not reach the browser")
	}
}
