import { describe, expect, it } from 'vitest'
import { createApprovalNotice, createTestNotice } from './notice.ts'
import type { ApprovalView } from './views.ts'

const NOW = Date.UTC(2026, 0, 1, 22)
const PLAIN = { node: 'home', names: false, nowMs: NOW }

interface ViewFacts {
  readonly shown?: Partial<ApprovalView['shown']>
  readonly binding?: Partial<ApprovalView['binding']>
  readonly askedBy?: string
  readonly askedFor?: string
}

function approvalView({ shown, binding, ...rest }: ViewFacts = {}): ApprovalView {
  return {
    id: '01K0',
    state: 'requested',
    binding: { principal: 'claude', tool: 'hs4.devices.set', target: 'homeseer:ref:141', ...binding },
    shown: {
      title: 'Set a device',
      label: 'Front Door Lock (Hall)',
      effect: 'sensitive',
      arguments: { ref: 141, code: '4711', reason: 'the plumber comes' },
      preview: { before: 'Locked', after: 'Unlock' },
      channel: 'mcp-http',
      client: 'Claude Desktop',
      traceId: '01K00000000000000000000000',
      ...shown,
    },
    requestedAtMs: NOW - 60_000,
    expiresAtMs: NOW + 14.5 * 60_000,
    ...rest,
  }
}

const lineOf = (view: ApprovalView): string => createApprovalNotice([view], PLAIN).text

describe('notice of waiting approvals', () => {
  it('names the tool, the caller and the time limit, but not the arguments', () => {
    expect(createApprovalNotice([approvalView()], PLAIN)).toEqual({
      title: 'home: a call waits for a person',
      text: 'Set a device: hs4.devices.set, asked by claude. Answer within 14 min.',
      facts: {
        event: 'approval.requested',
        node: 'home',
        count: 1,
        waiting: [
          {
            id: '01K0',
            tool: 'hs4.devices.set',
            what: 'Set a device',
            effect: 'sensitive',
            asked_by: 'claude',
            until: '2026-01-01T22:14:30.000Z',
          },
        ],
      },
    })
  })

  it('names the target of the call if the owner configured it', () => {
    const { text, facts } = createApprovalNotice([approvalView()], { ...PLAIN, names: true })
    expect(text).toBe('Front Door Lock (Hall): hs4.devices.set, asked by claude. Answer within 14 min.')
    expect(facts).toMatchObject({ waiting: [{ what: 'Front Door Lock (Hall)', target: 'homeseer:ref:141' }] })
    expect(JSON.stringify(facts)).not.toMatch(/4711|plumber|Unlock/)
  })

  it('names five calls in its text, lists a hundred as data, and counts the rest', () => {
    const { title, text, facts } = createApprovalNotice(
      Array.from({ length: 107 }, () => approvalView()),
      PLAIN,
    )
    expect(title).toBe('home: 107 calls wait for a person')
    expect(text.split('\n')).toHaveLength(6)
    expect(text.split('\n').at(-1)).toBe('And 102 more.')
    expect(facts['count']).toBe(107)
    expect(facts['waiting']).toHaveLength(100)
  })

  it('marks the actor as a claim of the calling node', () => {
    const binding = { principal: 'peer:ed25519:AAAA/owner' }
    expect(lineOf(approvalView({ binding, askedBy: 'attic', askedFor: 'owner' }))).toContain(
      'asked by owner, says the node attic.',
    )
    expect(lineOf(approvalView({ binding, askedBy: 'owner' }))).toContain('asked by the node owner.')
  })

  it('removes line breaks, direction marks, links and excess length from names', () => {
    const title = 'x\n\u202EAll is well.\u0007 Tap http://evil.example'
    expect(lineOf(approvalView({ shown: { title } }))).toBe(
      'x All is well. Tap http evil.example: hs4.devices.set, asked by claude. Answer within 14 min.',
    )
    expect(lineOf(approvalView({ shown: { title: 'y'.repeat(300) } }))).toContain(`${'y'.repeat(59)}…: hs4`)
  })

  it('stays below the 4,096 bytes of an ntfy message, however long names are', () => {
    const long = '🔥'.repeat(300)
    const one = approvalView({
      shown: { title: long, label: long },
      binding: { tool: 'a'.repeat(300) },
      askedBy: long,
      askedFor: long,
    })
    const { text } = createApprovalNotice(
      Array.from({ length: 9 }, () => one),
      { ...PLAIN, names: true },
    )
    expect(Buffer.byteLength(text)).toBeLessThan(4_096)
  })

  it('says that a test notice is a test', () => {
    expect(createTestNotice('home')).toEqual({
      title: 'home: a test',
      text: 'This is a test: nothing waits. You will be notified here when a call does.',
      facts: { event: 'trial', node: 'home', count: 0, waiting: [] },
    })
  })
})
