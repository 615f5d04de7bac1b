import { describe, expect, it } from 'vitest'
import { offer } from '../../test/mcp-house.ts'
import type { ContentBlock } from '../bus/call.ts'
import { fail, ok } from '../core/result.ts'
import { createPromptResult, createResourceResult, createToolResult } from './mcp-results.ts'

const tool = offer({ name: 'a' })

describe('a tool result', () => {
  it('contains the envelope of its family, also as text', () => {
    expect(createToolResult(ok({ data: 1 }), tool)).toEqual({
      content: [{ type: 'text', text: '{"ok":true,"data":1}' }],
      structuredContent: { ok: true, data: 1 },
    })
  })

  it('contains the content that the handler returned instead of the text', () => {
    const content: ContentBlock[] = [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }]
    expect(createToolResult(ok({ data: 1, content }), tool)).toEqual({
      content,
      structuredContent: { ok: true, data: 1 },
    })
  })

  it('is marked as an error when the family does so', () => {
    expect(createToolResult(fail({ kind: 'offline', message: 'Nobody home.' }), tool)).toEqual({
      content: [{ type: 'text', text: '{"ok":false,"kind":"offline","message":"Nobody home."}' }],
      structuredContent: { ok: false, kind: 'offline', message: 'Nobody home.' },
      isError: true,
    })
  })

  it.each<[string, ContentBlock]>([
    ['text without text', { type: 'text' }],
    ['a picture that is not Base64', { type: 'image', data: 'a!', mimeType: 'image/png' }],
    ['a sound without a type', { type: 'audio', data: 'AAAA' }],
    ['a link without a name', { type: 'resource_link', uri: 'a://b' }],
    ['a resource without contents', { type: 'resource', resource: { uri: 'a://b' } }],
    ['a kind that nobody knows', { type: 'smell', data: 'roses' }],
  ])('contains as text what a strict client would reject: %s', (_, block) => {
    const result = createToolResult(ok({ data: 1, content: [block] }), tool)
    expect(result['content']).toEqual([{ type: 'text', text: JSON.stringify(block) }])
  })
})

describe('a resource result', () => {
  it('contains the data as JSON without an envelope, or the text', () => {
    expect(createResourceResult({ data: { a: 1 } }, 'a://b', 'application/json')).toEqual({
      contents: [{ uri: 'a://b', mimeType: 'application/json', text: '{"a":1}' }],
    })
    expect(createResourceResult({ data: 'plain' }, 'a://b', 'text/plain')).toMatchObject({
      contents: [{ text: 'plain' }],
    })
  })

  it('contains the bytes that the handler returned', () => {
    const resource = { uri: 'a://b', mimeType: 'image/png', blob: 'AAAA' }
    const content: ContentBlock[] = [{ type: 'resource', resource }]
    expect(createResourceResult({ data: null, content }, 'a://b', 'image/png')).toEqual({ contents: [resource] })
  })
})

describe('a prompt result', () => {
  it('is the data of the handler, and it is an error if that has no messages', () => {
    const data = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] }
    expect(createPromptResult({ data }, tool)).toBe(data)
    expect(() => createPromptResult({ data: {} }, tool)).toThrow('a gave no messages')
  })
})
