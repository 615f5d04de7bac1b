import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../core/bytes.ts'
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { createAnyWordPredicate, listHumanTextsInBody } from './word-search.ts'

const bytes = (value: Json): Uint8Array => toUtf8(canonicalJson(value))

describe('human texts in a body', () => {
  it('are words in any script, but not ids, hashes, times and numbers', () => {
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
    expect(listHumanTextsInBody(bytes(body)).toSorted()).toEqual(
      ['Call Ada', 'ada@example.org', '给小明打电话'].toSorted(),
    )
  })

  it('are also found in JSON inside a string, as one Chinese character and as a telephone number', () => {
    const answer = { content: [{ text: JSON.stringify({ title: 'Call Ada', by: ['李'] }) }], phone: '+491701234567' }
    expect(listHumanTextsInBody(bytes(answer)).toSorted()).toEqual(['+491701234567', 'Call Ada', '李'].toSorted())
    expect(listHumanTextsInBody(bytes(['21.5', '-3', '07:30:00', '2026-01-01', '1.2.3', 'x', 'On', 'done']))).toEqual(
      [],
    )
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
    ['ada@example.org', 'From: Ada@Example.ORG', true],
    ['STRASSE', 'Hauptstraße 4', true],
    ['Δίας', 'ΔΊΑΣ ΚΑΙ', true],
    ['İpek', 'ipek geldi', true],
    // U+00E9 against e and U+0301 (Unicode Standard Annex 15).
    ['Ren\u00E9', 'Rene\u0301 came', true],
    ['Rene\u0301', 'for Ren\u00E9', true],
    ['Ada', 'A\u00ADda', true],
    ['\u200B\u200B', 'any text', false],
    // Particles are written onto the name: "and Ahmad", "to David", "Minsu (subject)".
    ['أحمد', 'وأحمد هنا', true],
    ['דוד', 'לדוד', true],
    ['민수', '민수가 왔다', true],
    ['Sabine', 'Sabines Zimmer', true],
    ['Степан', 'со Степаном', true],
    ['Ada', JSON.stringify({ text: JSON.stringify({ name: 'x\nAda' }) }), true],
    ['a "quoted" one', JSON.stringify({ text: JSON.stringify({ name: 'a "quoted" one' }) }), true],
    ['小明', '{"name":"\\u5c0f\\u660e"}', true],
  ])('word %j is found in %j: %s', (word, text, isThere) => {
    expect(createAnyWordPredicate([word])(bytes({ any: [text] }))).toBe(isThere)
  })
})
