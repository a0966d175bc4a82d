package broker

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// The documents of the administration interface (Microsoft Learn, "Service Bus
// REST API", Get Entity), as far as the counts of a queue need them.
type (
	atomEntry struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom entry"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Content atomContent `xml:"content"`
	}
	atomContent struct {
		Type  string           `xml:"type,attr"`
		Queue queueDescription `xml:"http://schemas.microsoft.com/netservices/2010/10/servicebus/connect QueueDescription"`
	}
	queueDescription struct {
		MaxDeliveryCount int
		MessageCount     int
		Status           string
		CreatedAt        string
		UpdatedAt        string
		AccessedAt       string
		CountDetails     countDetails
	}
	countDetails struct {
		ActiveMessageCount             int
		DeadLetterMessageCount         int
		ScheduledMessageCount          int
		TransferMessageCount           int
		TransferDeadLetterMessageCount int
	}
	atomFeed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Title   string   `xml:"title"`
	}
	managementError struct {
		XMLName xml.Name `xml:"Error"`
		Code    int
		Detail  string
	}
)

// notKept stands for times that the emulator doesn't keep.
const notKept = "0001-01-01T00:00:00Z"

// Administer answers GET of a queue, with the counts of its messages, by the
// administration interface: active are those that can be received and those that
// are locked. A queue that is not there is an empty feed, as the service answers.
// All else is refused.
func (b *Broker) Administer(w http.ResponseWriter, r *http.Request) {
	if _, err := b.checkSAS(r.Header.Get("Authorization"), "sb://"+r.Host+r.URL.Path); err != nil {
		answerXML(w, http.StatusUnauthorized, managementError{Code: http.StatusUnauthorized, Detail: err.Error()})
		return
	}
	segs := path(r.URL.Path)
	if r.Method != http.MethodGet || len(segs) != 1 || strings.HasPrefix(segs[0], "$") {
		answerXML(w, http.StatusNotImplemented, managementError{Code: http.StatusNotImplemented,
			Detail: fmt.Sprintf("%s %s is not emulated: a queue can be read", r.Method, r.URL.Path)})
		return
	}
	q, ok := b.queues[segs[0]]
	if !ok {
		answerXML(w, http.StatusOK, atomFeed{Title: "Publicly Listed Services"})
		return
	}
	s := q.stats()
	active := s.Active + s.Locked
	answerXML(w, http.StatusOK, atomEntry{ID: "http://" + r.Host + r.URL.Path, Title: s.Name, Content: atomContent{Type: "application/xml",
		Queue: queueDescription{
			MaxDeliveryCount: q.cfg.MaxDeliveryCount, MessageCount: active + s.Deferred + s.Scheduled + s.DeadLettered, Status: "Active",
			CreatedAt: notKept, UpdatedAt: notKept, AccessedAt: notKept,
			CountDetails: countDetails{ActiveMessageCount: active, DeadLetterMessageCount: s.DeadLettered, ScheduledMessageCount: s.Scheduled},
		}}})
}

// answerXML answers with one of the documents above, all of which can be encoded.
func answerXML(w http.ResponseWriter, status int, body any) {
	data, err := xml.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml;type=entry;charset=utf-8")
	w.WriteHeader(status)
	// A client that is gone can't be told that it is.
	_, _ = w.Write(data)
}
