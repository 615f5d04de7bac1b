import { describe, expect, it } from 'vitest'
import type { Call, CallerInteraction } from '../../bus/call.ts'
import { createElicitation, canElicit, readElicitedChoice } from './elicitation.ts'

const choices = [1, 2].map((id) => ({ id, label: `Lamp ${id}`, call: { name: 'x' } }))
const call = (interaction?: CallerInteraction) => ({ interaction }) as Call
const answered = (target: CallerInteraction['inputResponses']) =>
  call(target === undefined ? {} : { inputResponses: target })

describe('elicitation', () => {
  it('is used only for clients that support forms', () => {
    expect(canElicit(call())).toBe(false)
    expect(canElicit(call({ clientCapabilities: {} }))).toBe(false)
    expect(canElicit(call({ clientCapabilities: { elicitation: {} } }))).toBe(true)
    expect(canElicit(call({ clientCapabilities: { elicitation: { form: {} } } }))).toBe(true)
    expect(canElicit(call({ clientCapabilities: { elicitation: { url: {} } } }))).toBe(false)
  })

  it('offers each choice with its name', () => {
    expect(JSON.stringify(createElicitation('Which?', choices))).toContain('{"const":"2","title":"Lamp 2"}')
  })

  it('accepts only a choice that was offered', () => {
    expect(readElicitedChoice(call(), choices)).toBeUndefined()
    expect(readElicitedChoice(answered({ target: { action: 'accept', content: { choice: '2' } } }), choices)).toBe(
      choices[1],
    )
    for (const response of [
      { action: 'decline' },
      { action: 'accept' },
      { action: 'accept', content: { choice: '3' } },
      { action: 'accept', content: { choice: { id: 2 } } },
      { action: 'accept', content: 'Lamp 2' },
    ])
      expect(readElicitedChoice(answered({ target: response }), choices)).toBe('declined')
  })
})
