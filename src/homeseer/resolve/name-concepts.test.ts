import { describe, expect, it } from 'vitest'
import { findConceptsInText } from './name-concepts.ts'

describe('concepts in a text', () => {
  it.each([
    ['blinds', ['blind']],
    ['Küchenlampe', ['kitchen', 'light']],
    ['Kuechenlampe', ['kitchen', 'light']],
    ['Leselampe', ['lese', 'light']],
    ['Haustür', ['front', 'door']],
    ['Kellertüre', ['cellar', 'door']],
    ['Wohnzimmerlicht', ['living', 'room', 'light']],
    ['turn on the lights in the hall', ['light', 'hall']],
    ['mach das Licht im Flur an', ['light', 'hall']],
    ['Rollläden im Erdgeschoss', ['blind', 'ground', 'floor']],
    ['temperature sensor 12', ['temperature', 'sensor', '12']],
  ])('%s contains %j', (text, concepts) => {
    expect(findConceptsInText(text)).toEqual(concepts)
  })
})
