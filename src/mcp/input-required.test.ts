import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../core/json.ts'
import { createInputRequiredResult, findMissingClientCapability } from './input-required.ts'

const form = { method: 'elicitation/create', params: { message: 'Name?' } }
const link = { method: 'elicitation/create', params: { mode: 'url', url: 'https://a.example' } }
const model = { method: 'sampling/createMessage', params: { messages: [] } }
const tools = { method: 'sampling/createMessage', params: { messages: [], tools: [] } }
const roots = { method: 'roots/list' }

describe('input-required result', () => {
  it.each<[string, JsonObject, JsonObject | undefined, JsonObject | undefined]>([
    ['a form, and nothing declared', form, undefined, { elicitation: { form: {} } }],
    ['a form, and elicitation of any kind', form, { elicitation: {} }, undefined],
    ['a form, and forms', form, { elicitation: { form: {} } }, undefined],
    ['a form, and links only', form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['a link, and elicitation of any kind', link, { elicitation: {} }, { elicitation: { url: {} } }],
    ['a link, and links', link, { elicitation: { url: {} } }, undefined],
    ['a model, and a model', model, { sampling: {} }, undefined],
    ['a model with tools, and a model', tools, { sampling: {} }, { sampling: { tools: {} } }],
    ['roots, and none', roots, {}, { roots: {} }],
    ['roots, and roots', roots, { roots: {} }, undefined],
  ])('requires the client capability that a request needs (request, declared): %s', (_, request, declared, missing) => {
    expect(findMissingClientCapability({ key: request }, declared)?.required).toEqual(missing)
  })

  it('contains input requests, request state, or both', () => {
    expect(createInputRequiredResult({ requests: { a: form } }, 's')).toEqual({
      resultType: 'input_required',
      inputRequests: { a: form },
      requestState: 's',
    })
    expect(createInputRequiredResult({ requests: {} }, 's')).toEqual({
      resultType: 'input_required',
      requestState: 's',
    })
  })
})
