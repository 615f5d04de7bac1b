import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createToolNameMap } from './tool-name-map.ts'

describe('tool name map', () => {
  it('lists names with dots or underscores and resolves both', () => {
    const book = createToolNameMap(['ebus.v1.zones.get', 'task_create'])
    expect(book.listed('ebus.v1.zones.get', 'dots')).toBe('ebus.v1.zones.get')
    expect(book.listed('ebus.v1.zones.get', 'underscore')).toBe('ebus_v1_zones_get')
    expect(book.canonical('ebus_v1_zones_get')).toBe('ebus.v1.zones.get')
    expect(book.canonical('ebus.v1.zones.get')).toBe('ebus.v1.zones.get')
    expect(book.listed('task_create', 'underscore')).toBe('task_create')
  })

  it('does not resolve an unknown name', () => {
    expect(createToolNameMap(['a.b']).canonical('a.c')).toBeUndefined()
    expect(createToolNameMap(['a.b']).canonical('constructor')).toBeUndefined()
  })

  it('adds a hash to all names that collide with underscores, and resolves none without it', () => {
    const book = createToolNameMap(['a.b_c', 'a_b.c'])
    expect(book.canonical('a_b_c')).toBeUndefined()
    expect(book.listed('a.b_c', 'underscore')).toMatch(/^a_b_c_[0-9a-f]{6}$/)
    expect(book.listed('a.b_c', 'underscore')).not.toBe(book.listed('a_b.c', 'underscore'))
  })

  it('resolves a name to the tool that has exactly that name', () => {
    const book = createToolNameMap(['a.b', 'a_b'])
    expect(book.canonical('a_b')).toBe('a_b')
    expect(book.listed('a.b', 'underscore')).not.toBe('a_b')
    expect(book.canonical(book.listed('a.b', 'underscore'))).toBe('a.b')
  })

  it('resolves every listed name to its tool, within the limits of strict clients', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '_', '-', '/'), minLength: 1, maxLength: 90 })
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const book = createToolNameMap(names)
        for (const canonical of names) {
          const listed = book.listed(canonical, 'underscore')
          expect(book.canonical(canonical)).toBe(canonical)
          expect(book.canonical(listed)).toBe(canonical)
          expect(listed).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
          expect(book.canonical(book.listed(canonical, 'dots'))).toBe(canonical)
          expect(book.listed(canonical, 'dots')).toMatch(/^[a-zA-Z0-9_.-]{1,128}$/)
        }
      }),
    )
  })
})
