import { describe, expect, it } from 'vitest'
import { notifyConfigSchema } from './notify.ts'

const complaints = (section: unknown): readonly string[] =>
  notifyConfigSchema.safeParse(section).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []

describe('the notify section', () => {
  it('has no destination by default, and leaves out names by default', () => {
    expect(notifyConfigSchema.parse(undefined)).toEqual([])
    expect(notifyConfigSchema.parse([{ url: 'https://hooks.example/k3x9' }])).toEqual([
      { url: 'https://hooks.example/k3x9', format: 'json', names: false },
    ])
  })

  it('refuses a URL with user and password, and does not repeat them in the message', () => {
    const sentence = 'without user and password in it: tokenVariable names what holds a token'
    expect(complaints([{ url: 'https://anna:hunter2@ntfy.example/home' }])).toEqual([`0.url: ${sentence}`])
    expect(complaints([{ url: 'https://ntfy.example/home', link: 'http://anna@home.example' }])).toEqual([
      `0.link: ${sentence}`,
    ])
  })

  it('accepts only HTTP URLs', () => {
    for (const url of ['ntfy.example/home', 'file:///etc/passwd', 'mailto:anna@example.org', ''])
      expect(complaints([{ url }])).toEqual(['0.url: Invalid URL'])
  })

  it('accepts the name of an environment variable for the token, not the token itself', () => {
    expect(complaints([{ url: 'https://ntfy.example/home', tokenVariable: 'tk_AgQdq7mVBoFD37zQ' }])).toEqual([
      '0.tokenVariable: the name of an environment variable',
    ])
    expect(complaints([{ url: 'https://ntfy.example/home', token: 'tk_AgQdq7mVBoFD37zQ' }])).toHaveLength(1)
  })
})
