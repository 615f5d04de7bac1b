import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { stripFillerWords } from './filler-words.ts'
import { normaliseName, toConfusableSkeleton, toStrictNameKey, splitNameTokens } from './name-normalisation.ts'

describe('normalise', () => {
  it('folds case, accents, compatibility forms and punctuation', () => {
    expect(normaliseName('  Küchentheke, LINKS ')).toBe('kuchentheke links')
    expect(normaliseName('Ｆｒｏｎｔ　Ｄｏｏｒ')).toBe('front door')
    expect(normaliseName('A/C № 2')).toBe('a c no 2')
    expect(splitNameTokens(normaliseName('lamp lamp hall'))).toEqual(['lamp', 'hall'])
  })

  it('has one result, however often it is applied', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(normaliseName(normaliseName(text))).toBe(normaliseName(text))
      }),
    )
  })

  it('treats plain letters in the fast way as in the slow one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(normaliseName(text)).toBe(normaliseName(`${text}\u00a0`))
      }),
    )
  })
})

describe('strict key', () => {
  it('forgives case, spaces and punctuation, and nothing else', () => {
    expect(toStrictNameKey('Front-Door  Lock')).toBe(toStrictNameKey('front door lock'))
    expect(toStrictNameKey('Ku\u0308che')).toBe(toStrictNameKey('Küche'))
    for (const other of [
      'Frоnt Door Lock',
      'Ｆront Door Lock',
      'Fr\u200bont Door Lock',
      'Frönt Door Lock',
      'Front Door Lock²',
    ])
      expect(toStrictNameKey(other)).not.toBe(toStrictNameKey('Front Door Lock'))
  })
})

describe('skeleton', () => {
  it('is the same for names that look the same', () => {
    for (const other of ['Frоnt Door', 'Ｆront Door', 'Fr\u200bont Door', 'Frοnt Dооr', 'FRONT DOOR'])
      expect(toConfusableSkeleton(other)).toBe('front door')
    expect(toConfusableSkeleton('Front Floor')).not.toBe('front door')
  })
})

describe('filler', () => {
  it('is dropped around a name', () => {
    expect(stripFillerWords('turn on the kitchen lamp please')).toBe('kitchen lamp')
    expect(stripFillerWords('schalte bitte die lampe im flur ein')).toBe('lampe flur')
  })

  it('is never a word that changes the meaning, and never the whole text', () => {
    expect(stripFillerWords('not the lamp')).toBe('not lamp')
    expect(stripFillerWords('all lamps')).toBeUndefined()
    expect(stripFillerWords('turn it on')).toBe('it')
    expect(stripFillerWords('on off')).toBeUndefined()
    expect(stripFillerWords('hall lamp')).toBeUndefined()
  })
})
