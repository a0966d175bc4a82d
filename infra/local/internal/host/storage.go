package host

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The host keeps ownership and checkpoints in a CheckpointStore. The app sees them
// as it does in Azure: as blobs of the storage in AzureWebJobsStorage, which this
// file serves. Of Blob Storage there is List Blobs alone (Microsoft Learn, "List
// Blobs", REST API), for that container and the blobs of one hub, in one page.
// Everything else is refused, as is whoever lacks the signature.
const (
	storageAccount   = "devstoreaccount1"
	storageContainer = "azure-webjobs-eventhub"
	storagePath      = "/" + storageAccount + "/" + storageContainer
)

// StorageConnection is the connection string of the storage that a host at an
// address serves, for those who have Config.StorageSignature.
func StorageConnection(address, signature string) string {
	return "BlobEndpoint=http://" + address + "/" + storageAccount + ";SharedAccessSignature=sig=" + signature
}

// storageBlob is a blob in a list.
type storageBlob struct {
	Name       string
	Properties struct {
		LastModified  string `xml:"Last-Modified,omitempty"` // nobody keeps that of a checkpoint
		ContentLength int    `xml:"Content-Length"`
		BlobType      string
	}
	Metadata struct {
		OwnerID        string `xml:"ownerid,omitempty"`
		SequenceNumber string `xml:"sequencenumber,omitempty"`
		Offset         string `xml:"offset,omitempty"`
	}
}

// storageList is the answer of List Blobs.
type storageList struct {
	XMLName       xml.Name `xml:"EnumerationResults"`
	ContainerName string   `xml:",attr"`
	Prefix        string
	Blobs         []storageBlob `xml:"Blobs>Blob"`
	NextMarker    string
}

// storageError is how Blob Storage refuses.
type storageError struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

func (h *Host) serveStorage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	refuse := func(status int, code, message string) {
		w.Header().Set("x-ms-error-code", code)
		h.writeXML(w, status, storageError{Code: code, Message: message})
	}
	prefix := strings.Split(query.Get("prefix"), "/")
	switch {
	case !same(query.Get("sig"), h.cfg.StorageSignature):
		refuse(http.StatusForbidden, "AuthenticationFailed", "Signature did not match.")
	case r.Method != http.MethodGet || query.Get("restype") != "container" || query.Get("comp") != "list":
		refuse(http.StatusNotImplemented, "NotImplemented", "This storage lists blobs, and does nothing else.")
	case len(prefix) < 3 || query.Get("marker") != "" || query.Get("delimiter") != "":
		refuse(http.StatusBadRequest, "InvalidQueryParameterValue", "prefix must begin with a namespace and a hub; no marker, no delimiter.")
	default:
		blobs, err := h.storageBlobs(r.Context(), prefix[0], prefix[1])
		if err != nil {
			h.cfg.Logger.Error("list the checkpoints for the app", "error", err)
			refuse(http.StatusInternalServerError, "InternalError", "The checkpoints can't be read.")
			return
		}
		blobs = slices.DeleteFunc(blobs, func(b storageBlob) bool { return !strings.HasPrefix(b.Name, query.Get("prefix")) })
		h.writeXML(w, http.StatusOK, storageList{ContainerName: storageContainer, Prefix: query.Get("prefix"), Blobs: blobs})
	}
}

// storageBlobs are those of a hub, for all consumer groups of the app, sorted by
// name as the service has them.
func (h *Host) storageBlobs(ctx context.Context, namespace, hub string) ([]storageBlob, error) {
	var blobs []storageBlob
	add := func(group, kind, partition string) *storageBlob {
		b := storageBlob{Name: strings.ToLower(strings.Join([]string{namespace, hub, group, kind, partition}, "/"))}
		b.Properties.BlobType = "BlockBlob"
		blobs = append(blobs, b)
		return &blobs[len(blobs)-1]
	}
	var groups []string
	for _, t := range h.triggers {
		l, ok := t.(*eventHub)
		if !ok || !strings.EqualFold(l.fn.Trigger.EventHubName, hub) || slices.Contains(groups, l.fn.Trigger.ConsumerGroup) {
			continue
		}
		group := l.fn.Trigger.ConsumerGroup
		groups = append(groups, group)
		owned, err := h.cfg.Checkpoints.ListOwnership(ctx, namespace, hub, group, nil)
		if err != nil {
			return nil, err
		}
		for _, o := range owned {
			b := add(group, kindOwnership, o.PartitionID)
			b.Metadata.OwnerID = o.OwnerID
			b.Properties.LastModified = o.LastModifiedTime.UTC().Format(http.TimeFormat)
		}
		checkpoints, err := h.cfg.Checkpoints.ListCheckpoints(ctx, namespace, hub, group, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range checkpoints {
			b := add(group, kindCheckpoint, c.PartitionID)
			if c.SequenceNumber != nil {
				b.Metadata.SequenceNumber = strconv.FormatInt(*c.SequenceNumber, 10)
			}
			if c.Offset != nil {
				b.Metadata.Offset = *c.Offset
			}
		}
	}
	slices.SortFunc(blobs, func(a, b storageBlob) int { return cmp.Compare(a.Name, b.Name) })
	return blobs, nil
}

func (h *Host) writeXML(w http.ResponseWriter, status int, answer any) {
	body, err := xml.Marshal(answer)
	if err != nil {
		h.cfg.Logger.Error("encode an answer of the storage", "error", err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), body...)) // to a client that may have gone
}
