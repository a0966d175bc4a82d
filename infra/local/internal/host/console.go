package host

import (
	"context"
	"log/slog"
	"strings"
)

// ConsoleLevel is the level that the host gives a console line of the handler:
// Information for stdout; Error for stderr, Warning where the line says "warn".
func ConsoleLevel(line string, stderr bool) slog.Level {
	switch {
	case !stderr:
		return slog.LevelInfo
	case strings.Contains(strings.ToLower(line), "warn"):
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}

// consoleLine passes a console line on. Lines with the prefixes of the host's
// system and tooling logs go to the host's own log.
func (h *Host) consoleLine(line string, stderr bool) {
	if text, ok := cutPrefixFold(line, "LanguageWorkerConsoleLog"); ok {
		h.cfg.Logger.Log(context.Background(), ConsoleLevel(text, stderr), text, "category", "Host.SystemLog")
		return
	}
	if text, ok := cutPrefixFold(line, "azfuncjsonlog:"); ok {
		h.cfg.Logger.Debug(text, "category", "Host.ToolingLog")
		return
	}
	if stderr && portTaken(strings.ToLower(line)) {
		line = "Port is already in use: " + line
	}
	if h.cfg.HandlerLog != nil {
		h.cfg.HandlerLog(line, stderr)
		return
	}
	h.cfg.Logger.Log(context.Background(), ConsoleLevel(line, stderr), line, "category", "Host.Function.Console")
}

func portTaken(lower string) bool {
	return strings.Contains(lower, "address already in use") || strings.Contains(lower, "eaddrinuse")
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
