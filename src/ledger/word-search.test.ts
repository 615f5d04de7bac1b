import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../core/bytes.ts'
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { createWordFinder, listWordsInBody } from './word-search.ts'

const bytes = (value: Json): Uint8Array => toUtf8(canonicalJson(value))

describe('the words of a body', () => {
  it('are what people wrote, in any script, with or without spaces', () => {
    const body = {
      title: 'Call Ada',
      assignee: 'ada@example.org',
      note: '给小明打电话',
      status: 'INIT',
      at: '2026-01-01T00:00:00.000Z',
      id: '7b94d69a-9808-4c59-9c9b-704333b38aff',
      hash: 'a'.repeat(64),
      count: '17',
    }
    expect(listWordsInBody(bytes(body)).toSorted()).toEqual(['Call Ada', 'ada@example.org', '给小明打电话'].toSorted())
  })

  it.each<[string, string, boolean]>([
    ['Ada', 'Tell Ada, please', true],
    ['Ada', 'Adagio', false],
    ['Ada', 'RAda', false],
    ['ada@example.org', 'to: ada@example.org.', true],
    ['小明', '我看见小明了', true],
    ['Jürgen', 'Für Jürgen!', true],
    ['Анна', 'Анна-Мария', true],
    ['Анна', 'Аннабель', false],
    ['สมชาย', 'คุณสมชายมา', true],
    ['a "quoted" one', 'say a "quoted" one', true],
    ['line\nbreak', 'a line\nbreak here', true],
  ])('%j are in %j: %s', (word, text, isThere) => {
    expect(createWordFinder([word])(bytes({ any: [text] }))).toBe(isThere)
  })
})
