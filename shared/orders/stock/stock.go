// Package stock is the backend of the items in stock. An item's document holds
// each order's share, so that orders never get more than there is.
package stock

import (
	"context"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// MaxTotal is the most that there may be of an item. It bounds the holds in its
// document.
const MaxTotal = 200

// OutOfStock refuses a reservation for good.
var OutOfStock = problem.Type{ID: "out-of-stock", Status: 409, Title: "There is not so much of it"}

// Item is something to be ordered.
type Item struct {
	ID         string `json:"id"`
	Total      int    `json:"total"`
	PriceCents int    `json:"priceCents"`
	Holds      []Hold `json:"holds,omitempty"`
	// Undone counts the undos, so that each changes the document and its ETag.
	Undone int `json:"undone,omitempty"`
}

// Hold is what a transaction has of an item.
type Hold struct {
	TransactionID string `json:"transactionId"`
	Revision      int    `json:"revision"`
	Quantity      int    `json:"quantity"`
}

// Ask is what a transaction asks for.
type Ask struct {
	Quantity int `json:"quantity"`
}

// Reservation is what was reserved.
type Reservation struct {
	Ask
	Item       string `json:"item"`
	PriceCents int    `json:"priceCents"` // of one
}

// Service keeps items and reservations. It is safe for concurrent use.
type Service struct {
	Items  record.Store[Item]
	Keeper record.Keeper[Reservation]
}

// PutItem makes an item, or changes how much there is of it and its price.
func (s *Service) PutItem(ctx context.Context, item Item) (Item, error) {
	return record.Update(ctx, s.Items, item.ID, func(doc *Item, _ bool) (bool, error) {
		if item.Total < doc.held("") {
			return false, problem.New(problem.Conflict, "%d of %s are reserved", doc.held(""), item.ID)
		}
		same := doc.ID == item.ID && doc.Total == item.Total && doc.PriceCents == item.PriceCents
		doc.ID, doc.Total, doc.PriceCents = item.ID, item.Total, item.PriceCents
		return !same, nil
	})
}

// Put reserves what a transaction asks for of an item: first in the item, then in
// the reservation. An undo leaves the tombstone first and changes the item then.
// So of an undo and a PUT that overtake each other, either the PUT finds the
// tombstone, which it looks for between reading the item and writing it, or the
// undo finds the hold.
func (s *Service) Put(ctx context.Context, itemID, id string, by record.By, ask Ask) (record.Record[Reservation], record.Change, error) {
	var none record.Record[Reservation]
	hash, err := record.Hash(ask)
	if err != nil {
		return none, "", err
	}
	item, err := record.Update(ctx, s.Items, itemID, func(item *Item, exists bool) (bool, error) {
		if !exists {
			return false, problem.New(problem.NotFound, "there is no item %s", itemID)
		}
		rec, err := s.Keeper.Get(ctx, id)
		if err != nil && problem.From(err).Type != problem.NotFound.ID {
			return false, err
		}
		if change, err := rec.Admit(by, hash); err != nil || change == "" {
			return false, err
		}
		return item.hold(by, ask.Quantity)
	})
	if err != nil {
		return none, "", err
	}
	return s.Keeper.Put(ctx, id, by, hash, func(*Reservation) Reservation {
		return Reservation{Ask: ask, Item: itemID, PriceCents: item.PriceCents}
	})
}

// Delete undoes a transaction's reservation of an item.
func (s *Service) Delete(ctx context.Context, itemID, id string, by record.By) error {
	if err := s.Keeper.Delete(ctx, id, by); err != nil {
		return err
	}
	_, err := record.Update(ctx, s.Items, itemID, func(item *Item, exists bool) (bool, error) {
		item.Holds = slices.DeleteFunc(item.Holds, func(h Hold) bool { return h.TransactionID == by.TransactionID })
		item.Undone++
		return exists, nil
	})
	return err
}

// hold sets a quantity aside for a transaction, and reports whether that changes
// the item.
func (i *Item) hold(by record.By, quantity int) (bool, error) {
	if i.Total-i.held(by.TransactionID) < quantity {
		return false, problem.New(OutOfStock, "%d of %s are left", i.Total-i.held(""), i.ID)
	}
	h := Hold{by.TransactionID, by.Revision, quantity}
	at := slices.IndexFunc(i.Holds, func(h Hold) bool { return h.TransactionID == by.TransactionID })
	switch {
	case at < 0:
		i.Holds = append(i.Holds, h)
	case i.Holds[at].Revision > by.Revision:
		return false, problem.New(record.StaleRevision, "revision %d is there, %d came", i.Holds[at].Revision, by.Revision)
	case i.Holds[at] == h:
		return false, nil
	default:
		i.Holds[at] = h
	}
	return true, nil
}

// held is what all transactions but one have of the item.
func (i *Item) held(besides string) (sum int) {
	for _, h := range i.Holds {
		if h.TransactionID != besides {
			sum += h.Quantity
		}
	}
	return sum
}
