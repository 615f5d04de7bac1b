import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DefinitionFolderReader } from './definition-folder-store.ts'

const LINE = '# built-in columns\nr,oven,Temp,,,08,b509,0d01,v,,UCH\n'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-definitions-'))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('definition folder', () => {
  it('lists regular files only, and ignores links that form a cycle', () => {
    mkdirSync(join(root, 'vaillant/old.csv'), { recursive: true })
    writeFileSync(join(root, 'broadcast.csv'), LINE)
    writeFileSync(join(root, 'vaillant/08.oven.csv'), LINE)
    writeFileSync(join(root, 'vaillant/old.csv/15.oven.csv'), LINE)
    symlinkSync('..', join(root, 'vaillant/up'))
    symlinkSync('.', join(root, 'self'))
    symlinkSync('nowhere', join(root, '08.dangling.csv'))
    symlinkSync('vaillant', join(root, 'saunier'))
    expect(new DefinitionFolderReader(root, 'en').files()).toEqual([
      'broadcast.csv',
      'saunier/08.oven.csv',
      'saunier/old.csv/15.oven.csv',
      'vaillant/08.oven.csv',
      'vaillant/old.csv/15.oven.csv',
    ])
  })

  it('is empty where there is no folder', () => {
    expect(new DefinitionFolderReader('/nowhere/at/all', 'en').files()).toEqual([])
  })

  it('does not read paths outside of it, directories or devices', () => {
    mkdirSync(join(root, 'x.csv'))
    const folder = new DefinitionFolderReader(root, 'en')
    expect(['x.csv', '../x', '/etc/hostname', '/dev/zero'].map((path) => folder.readText(path))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})
