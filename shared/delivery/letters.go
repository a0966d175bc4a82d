package delivery

import (
	_ "embed" // the templates
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/template"
	"time"
	"unicode"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// letterDelay is how long after the arrival its letter is due: a wish that a clock which is
// behind takes for early is still found.
const letterDelay = 10 * time.Second

// lettersFile has a template for each kind of letter. Its first line is the subject.
//
//go:embed letters.tmpl
var lettersFile string

var letterTemplates = template.Must(template.New("letters").Option("missingkey=error").Parse(lettersFile))

// askWishes is the call that tells who wants to be told of a delivery.
func askWishes(transactionID string) workflow.Call {
	return workflow.Call{Backend: StepDelivery, Method: http.MethodGet, Path: "deliveries/" + url.PathEscape(transactionID) + "/notifymerequests"}
}

// writeLetter tells the arrival, when it has come, or that there will be none.
func writeLetter(answer json.RawMessage) (business.Letter, error) {
	var w deliveries.Wishes
	if err := json.Unmarshal(answer, &w); err != nil {
		return business.Letter{}, fmt.Errorf("read wishes for a notice: %w", err)
	}
	l := business.Letter{Name: "arrived", Due: w.ArriveAt.Add(letterDelay)}
	if w.Cancelled {
		l.Name, l.Due = "cancelled", time.Time{}
	}
	for _, n := range w.Items {
		if n.EmailAddress != "" {
			l.To = append(l.To, n.EmailAddress)
		}
	}
	var text strings.Builder
	if err := letterTemplates.ExecuteTemplate(&text, l.Name, map[string]string{
		"Package": oneLine(w.PackageID), "ArrivedAt": w.ArriveAt.UTC().Format("2 January 2006, 15:04 MST"),
	}); err != nil {
		return business.Letter{}, fmt.Errorf("write letter: %w", err)
	}
	l.Subject, l.Text, _ = strings.Cut(text.String(), "\n\n")
	return l, nil
}

// oneLine keeps what clients gave from making lines of its own.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
