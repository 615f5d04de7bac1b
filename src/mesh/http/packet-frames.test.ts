import { describe, expect, it } from 'vitest'
import { PacketFrameReader, encodePacketFrame } from './packet-frames.ts'

const ONE = 'hbp2 answer k token:t\n[[1,200,{"text":"grüß Gott"}]]'
const OTHER = 'hbp2 cancel k 7\n'
const BYTES = Buffer.from(encodePacketFrame(ONE) + encodePacketFrame(OTHER) + encodePacketFrame(ONE))

function fedIn(sizes: (at: number) => number, bytes = BYTES): readonly string[] {
  const reader = new PacketFrameReader(100)
  const packets: string[] = []
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + sizes(at))
    packets.push(...(reader.feed(bytes.subarray(at, end)) ?? ['too large']))
    at = end
  }
  return packets
}

describe('packet frames on a byte stream', () => {
  it('decode to the same packets, however the stream is split', () => {
    for (let size = 1; size <= BYTES.length; size++) expect(fedIn(() => size)).toEqual([ONE, OTHER, ONE])
    for (let cut = 1; cut < BYTES.length; cut++)
      expect(fedIn((at) => (at === 0 ? cut : BYTES.length))).toEqual([ONE, OTHER, ONE])
  })

  it('are unaffected when the buffer they arrived in is overwritten', () => {
    const reader = new PacketFrameReader(100)
    const buffer = Buffer.from(encodePacketFrame(ONE))
    expect(reader.feed(buffer.subarray(0, 20))).toEqual([])
    const rest = Buffer.from(buffer.subarray(20))
    buffer.fill(0)
    expect(reader.feed(rest)).toEqual([ONE])
  })

  it('are accepted up to the size limit and refused one byte above it, in chunks of any size', () => {
    const largest = Buffer.from(encodePacketFrame(`hbp2 answer k token:t\n${'x'.repeat(78)}`))
    expect(largest.length).toBe(101)
    const tooLarge = Buffer.from(`x${largest.toString()}`)
    for (const size of [1, 7, 1_000]) {
      expect(fedIn(() => size, largest)).toEqual([largest.toString().slice(0, -1)])
      expect(fedIn(() => size, tooLarge)).toContain('too large')
    }
  })

  it('decode to an empty packet when they are not valid UTF-8', () => {
    const reader = new PacketFrameReader(100)
    expect(reader.feed(Buffer.from([0x68, 0x0a, 0xff, 0x0a]))).toEqual([''])
  })

  it('are parsed in linear time when a large packet arrives byte by byte', () => {
    // Joined anew for every byte this would be half a terabyte of copies, and longer than a test may take.
    const letters = Buffer.from('x'.repeat(1_000_000))
    const reader = new PacketFrameReader(1_000_100)
    for (let at = 0; at < letters.length; at++) reader.feed(letters.subarray(at, at + 1))
    expect(reader.feed(Buffer.from('\n\n'))).toEqual([`${letters.toString()}\n`])
  })
})
