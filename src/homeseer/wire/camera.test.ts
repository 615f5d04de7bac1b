import { describe, expect, it } from 'vitest'
import { decodeCameras, encodeCamera } from './camera.ts'

describe('camera record', () => {
  it('is decoded in every known spelling', () => {
    const cameras = decodeCameras({
      Cameras: [
        { id: 1, name: 'Door', supports_pantilt: true },
        { CamID: '2', Name: 'Yard' },
      ],
    })
    expect(cameras).toMatchObject({
      ok: true,
      value: [
        { camId: 1, name: 'Door', supportsPanTilt: true },
        { camId: 2, name: 'Yard', supportsPanTilt: false },
      ],
    })
    expect(encodeCamera({ camId: 1, name: 'Door', supportsPanTilt: true })).toEqual({
      id: 1,
      name: 'Door',
      supports_pantilt: true,
    })
  })
})
