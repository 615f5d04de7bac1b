/** The names in the map are those of ebusd's official files, wherever these lie beside the project. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { DefinitionFolderReader } from '../definitions/definition-folder-store.ts'
import { DefinitionSet } from '../definitions/definition-set.ts'
import { DEFAULT_PLANE_ITEM_TITLES, MAPPED_PLANE_FIELDS } from './message-map.ts'

const OFFICIAL = fileURLToPath(new URL('../../../../shared/data/ebusd/definitions/en', import.meta.url))

describe('message map', () => {
  it('has a name for every item of a list', () => {
    expect(
      MAPPED_PLANE_FIELDS.filter(({ item }) => item !== undefined && DEFAULT_PLANE_ITEM_TITLES[item] === undefined),
    ).toEqual([])
  })

  it('maps each field once', () => {
    const paths = MAPPED_PLANE_FIELDS.map(({ plane, item = '', path }) => `${plane} ${item} ${path}`)
    expect(new Set(paths).size).toBe(paths.length)
  })

  it.skipIf(!existsSync(OFFICIAL))('names only messages and fields that exist in the official files', () => {
    const folder = new DefinitionFolderReader(OFFICIAL, 'en')
    const fields = new Set<string>()
    for (const file of folder.files()) {
      const set = new DefinitionSet({ source: folder, mode: 'all', language: 'en' })
      set.load(file)
      for (const { source, circuit, name, fields: own } of set.messages)
        for (const field of own)
          fields.add([source.split('/').at(-2) ?? '', circuit, name, field.name].join('/').toLowerCase())
    }
    const missing = MAPPED_PLANE_FIELDS.flatMap(({ sources }) => sources)
      .map(({ maker = '', circuit, message, field }) => [maker, circuit, message, field].join('/').toLowerCase())
      .filter((key) => !fields.has(key))
    expect(missing).toEqual([])
  })
})
