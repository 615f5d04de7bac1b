/** Notice: a short sound when somebody is asked for, if they want one. It is made here, not loaded. */
import { signal } from '@preact/signals'

const NAME = 'hearthbus-sound'

export const soundOn = signal(localStorage.getItem(NAME) === 'on')

export function setSound(on: boolean): void {
  soundOn.value = on
  localStorage.setItem(NAME, on ? 'on' : 'off')
  // Also the permission: browsers let a page sound only after somebody touched it.
  if (on) ring()
}

export function ring(): void {
  if (!soundOn.peek()) return
  const audio = new AudioContext()
  const volume = audio.createGain()
  volume.connect(audio.destination)
  volume.gain.setValueAtTime(0.0001, audio.currentTime)
  volume.gain.exponentialRampToValueAtTime(0.2, audio.currentTime + 0.03)
  volume.gain.exponentialRampToValueAtTime(0.0001, audio.currentTime + 0.9)
  for (const [hertz, after] of [
    [659, 0],
    [880, 0.16],
  ] as const) {
    const tone = audio.createOscillator()
    tone.frequency.value = hertz
    tone.connect(volume)
    tone.start(audio.currentTime + after)
    tone.stop(audio.currentTime + 1)
  }
  setTimeout(() => void audio.close(), 1_500)
}
