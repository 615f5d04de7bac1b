import { beforeAll, describe, expect, it } from 'vitest'
import type { Offer } from '../bus/capability.ts'
import { describeOwnCapability, createPeerOffer } from '../bus/peer.ts'
import { sanitizePeerCapability } from '../mesh/peer-capability-sanitizer.ts'
import { collectAllCapabilityOffers } from './docs-store.ts'

describe('describeOwnCapability for every capability of this program', () => {
  let offers: readonly Offer[] = []

  beforeAll(async () => {
    offers = await collectAllCapabilityOffers()
  })

  it('produces a description that another node accepts', () => {
    expect(offers.length).toBeGreaterThan(150)
    const refused = offers.flatMap((offer) => {
      const made = createPeerOffer(describeOwnCapability(offer), offer.family)
      return made.ok ? [] : [made.fault.message]
    })
    expect(refused).toEqual([])
  })

  it('keeps every description within the 1,024 characters that a peer accepts', () => {
    const cut = offers.filter(({ description }) => description.length > 1_024 || description !== description.trim())
    expect(cut.map(({ name }) => name)).toEqual([])
    for (const offer of offers)
      expect([offer.name, sanitizePeerCapability(describeOwnCapability(offer), 'attic').ok]).toEqual([offer.name, true])
  })

  it('keeps the whole request schema, descriptions of arguments included', () => {
    const there = offers.map((offer) => {
      const made = createPeerOffer(describeOwnCapability(offer), offer.family)
      return [offer.name, made.ok ? made.value.requestSchema : undefined]
    })
    expect(there).toEqual(offers.map((offer) => [offer.name, offer.requestSchema]))
  })
})
