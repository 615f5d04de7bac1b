import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createUniqueSlug, chooseSlugBase, formatDeviceTarget } from './device-slug.ts'

describe('device slug', () => {
  it('is made from the first name with Latin letters, and is cut to 20 characters', () => {
    expect(chooseSlugBase(['Küche – Lampe'])).toBe('kuche-lampe')
    expect(chooseSlugBase(['厨房', 'esp-box-3'])).toBe('esp-box-3')
    expect(chooseSlugBase(['', '!!'])).toBe('device')
    expect(chooseSlugBase(['a very long name that goes on'])).toBe('a-very-long-name-tha')
  })

  it('appends digits of the device id if the slug is taken', () => {
    const taken = new Set(['lamp', 'lamp-e4f5'])
    expect(createUniqueSlug('lamp', 'a0:b1:c2:d3:e4:f5', (slug) => taken.has(slug))).toBe('lamp-d3e4f5')
    expect(createUniqueSlug('desk', 'a0:b1:c2:d3:e4:f5', (slug) => taken.has(slug))).toBe('desk')
  })

  it('is never given out twice, whatever the names of devices', () => {
    const name = fc.constantFrom('Lamp', 'lamp', 'LAMP!', 'lamp-0001', 'lamp 000000000001', '')
    fc.assert(
      fc.property(fc.array(name, { maxLength: 12 }), (names) => {
        const taken = new Set<string>()
        for (const [index, given] of names.entries()) {
          const deviceId = `00:00:00:00:00:${index.toString(16).padStart(2, '0')}`
          const slug = createUniqueSlug(chooseSlugBase([given]), deviceId, (candidate) => taken.has(candidate))
          expect(taken.has(slug)).toBe(false)
          expect(formatDeviceTarget(slug)).toMatch(/^device:[a-z0-9][a-z0-9-]*$/)
          taken.add(slug)
        }
      }),
    )
  })
})
